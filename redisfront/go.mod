module github.com/onceward/onceward/redisfront

go 1.26.0

require (
	github.com/onceward/onceward v0.0.0-00010101000000-000000000000
	github.com/redis/rueidis v1.0.79
	github.com/sony/gobreaker/v2 v2.4.0
)

require golang.org/x/sys v0.47.0 // indirect

replace github.com/onceward/onceward => ../
