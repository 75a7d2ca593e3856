package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

// Server is a private PostgreSQL server that keeps what it confirmed, as a service's would.
type Server struct {
	*dbtest.Postgres
	// Says names the server and its settings.
	Says string
}

// Checkpoints are taken when a measurement asks for one, so that none falls on one side of a pair.
var settings = []string{"checkpoint_timeout=1h", "max_wal_size=8GB"}

// durable are the settings without which a commit would be cheaper than it is.
var durable = []string{"fsync", "synchronous_commit", "full_page_writes"}

// StartServer starts a server and checks that nothing about its durability is left out: the settings, and a disk under it.
func StartServer() (*Server, error) {
	if inMemory(os.TempDir()) {
		return nil, fmt.Errorf("bench: %s lies in memory, where a flush costs nothing: set TMPDIR to a folder on a disk", os.TempDir())
	}
	postgres, err := dbtest.NewPostgres(dbtest.PostgresOptions{Durable: true, Settings: settings})
	if err != nil {
		return nil, err
	}
	s := &Server{Postgres: postgres}
	if err := s.check(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) check() error {
	for _, name := range durable {
		if value, err := s.Exec("postgres", "SHOW "+name); err != nil || value != "on" {
			return errors.Join(fmt.Errorf("bench: the server has %s %q, want on", name, value), err)
		}
	}
	version, err := s.Exec("postgres", "SHOW server_version")
	s.Says = "PostgreSQL " + version + ", " + strings.Join(durable, ", ") + " on"
	return err
}

// OpenShop opens a shop in a new database, with a pool of so many connections over a network whose round trip takes so
// long: 0 is loopback without anything between.
func (s *Server) OpenShop(ctx context.Context, conns int, roundTrip time.Duration) (*Shop, error) {
	database, err := s.CreateDatabase()
	if err != nil {
		return nil, err
	}
	if roundTrip == 0 {
		return openShop(ctx, s.URL(database), conns, func() {})
	}
	proxy, err := dbtest.ListenProxy(s.Addr())
	if err != nil {
		return nil, err
	}
	proxy.Delay(roundTrip / 2)
	return openShop(ctx, proxy.URL(s.URL(database)), conns, proxy.Close)
}

// inMemory reports whether folder lies in a file system that has no disk.
func inMemory(folder string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // f_type of statfs(2)
	var system syscall.Statfs_t
	if syscall.Statfs(folder, &system) != nil {
		return false
	}
	return int64(system.Type) == tmpfs || int64(system.Type) == ramfs
}
