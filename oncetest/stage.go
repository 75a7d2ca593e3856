package oncetest

import "net/http"

// stage is what stands between the process and its database's durable state, and has it killed at a point.
type stage interface {
	// database is what the process opens.
	database() string
	// arm readies the death at the nth point from 0 that the request passes; kill returns when the process is gone.
	arm(n int, r *http.Request, kill func()) error
	// disarm tells at which point the process was killed, or "" if the request has passed fewer. Dead says that the process is
	// gone. Again says that the run tells nothing and must be made anew.
	disarm(dead bool) (point string, again bool, err error)
	// settle waits until the database has ended what the killed process began.
	settle() error
	close()
}
