module github.com/onceward/onceward/bench

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/jackc/pgx/v5 v5.13.0
	github.com/onceward/onceward v0.0.0
	github.com/onceward/onceward/mysqlstore v0.0.0
	github.com/onceward/onceward/pgxstore v0.0.0
	github.com/onceward/onceward/redisfront v0.0.0
	github.com/redis/rueidis v1.0.79
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/sony/gobreaker/v2 v2.4.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/onceward/onceward => ../
	github.com/onceward/onceward/mysqlstore => ../mysqlstore
	github.com/onceward/onceward/pgxstore => ../pgxstore
	github.com/onceward/onceward/redisfront => ../redisfront
)
