module github.com/onceward/onceward

go 1.26.0
