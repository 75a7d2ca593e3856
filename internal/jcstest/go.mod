module github.com/onceward/onceward/internal/jcstest

go 1.26.0

require (
	github.com/gowebpki/jcs v1.0.2
	github.com/onceward/onceward v0.0.0
)

replace github.com/onceward/onceward => ../..
