module github.com/onceward/onceward/onceclient

go 1.26.0

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/onceward/onceward v0.0.0
)

replace github.com/onceward/onceward => ../
