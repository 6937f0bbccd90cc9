// Searches a collection of a crossview server by a vector or by a picture, and prints a line for each hit.
//
//	go run . -view clip -vector 0.1,0.7,0.2 localhost:50051 pets
//	go run . -image cat.jpg -k 3 localhost:50051 pets
//
// The environment variable CROSSVIEW_KEY has the key of a server with keys. With -ca FILE, the connection uses TLS, and
// the server must have a certificate that an authority of the file signed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "crossview/v1"
)

const timeout = 30 * time.Second

func main() {
	vector := flag.String("vector", "", "numbers of a row of the view, with commas between them")
	image := flag.String("image", "", "file of a picture")
	view := flag.String("view", "", "the view of the query; a picture without one searches all views that it has")
	space := flag.String("space", "", "the space [default: the active one]")
	k := flag.Int("k", 10, "maximum number of hits")
	ca := flag.String("ca", "", "file of certificates that sign that of the server; without it, there is no TLS")
	flag.Parse()
	if flag.NArg() != 2 || (*vector == "") == (*image == "") {
		fmt.Fprintln(os.Stderr, "usage: go run . [options] (-vector NUMBERS -view VIEW | -image FILE) ADDRESS COLLECTION")
		os.Exit(2)
	}
	query, err := queryOf(*view, *vector, *image)
	if err == nil {
		hits := int32(*k)
		request := &pb.SearchRequest{
			Parent: "collections/" + flag.Arg(1), Space: *space, K: &hits, Queries: []*pb.Query{query},
		}
		err = search(flag.Arg(0), *ca, request)
	}
	if err != nil {
		if refused, ok := status.FromError(err); ok {
			err = fmt.Errorf("%s: %s", refused.Code(), refused.Message())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// queryOf returns the query by a picture or, without one, by a vector.
func queryOf(view, vector, image string) (*pb.Query, error) {
	if image != "" {
		encoded, err := os.ReadFile(image)
		return &pb.Query{View: view, Input: &pb.Query_Image{Image: encoded}}, err
	}
	var values []float32
	for _, text := range strings.Split(vector, ",") {
		value, err := strconv.ParseFloat(strings.TrimSpace(text), 32)
		if err != nil {
			return nil, err
		}
		values = append(values, float32(value))
	}
	return &pb.Query{View: view, Input: &pb.Query_Vector{Vector: &pb.Vector{Values: values}}}, nil
}

// search prints the hits of a request.
func search(address, ca string, request *pb.SearchRequest) error {
	transport := insecure.NewCredentials()
	if ca != "" {
		var err error
		if transport, err = credentials.NewClientTLSFromFile(ca, ""); err != nil {
			return err
		}
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if key := os.Getenv("CROSSVIEW_KEY"); key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
	}
	response, err := pb.NewSearchServiceClient(connection).Search(ctx, request)
	if err != nil {
		return err
	}
	for _, list := range response.GetResults() {
		for _, hit := range list.GetHits() {
			target := hit.GetTarget()
			if target == "" {
				target = list.GetTarget()
			}
			fmt.Printf("%.4f\t%s\t%s\t%s\n", hit.GetDistance(), hit.GetKey(), target, strings.Join(hit.GetLabels(), " "))
		}
	}
	return nil
}
