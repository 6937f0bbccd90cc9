"""The product's nouns: homes, collections, items, views, spaces, queries and hits."""
