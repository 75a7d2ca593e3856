//go:build !linux

package bench

import "time"

var started = time.Now()

// threadTime is the time that passed, where the system does not tell what a thread used.
func threadTime() time.Duration { return time.Since(started) }
