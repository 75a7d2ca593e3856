package bench

import (
	"github.com/redis/rueidis"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/redisfront"
)

// Front is a front in a private Redis server.
type Front struct {
	*redisfront.Front
	redis *dbtest.Redis
}

// StartFront starts a server and a front in it.
func StartFront() (*Front, error) {
	redis, err := dbtest.NewRedis(dbtest.RedisOptions{})
	if err != nil {
		return nil, err
	}
	front, err := redisfront.New(rueidis.ClientOption{InitAddress: []string{redis.Addr()}}, redisfront.Options{})
	if err != nil {
		_ = redis.Close()
		return nil, err
	}
	return &Front{front, redis}, nil
}

// Close ends both.
func (f *Front) Close() error {
	f.Front.Close()
	return f.redis.Close()
}
