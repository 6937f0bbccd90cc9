module crossview

go 1.24
