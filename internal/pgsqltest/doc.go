// Package pgsqltest tests pgsqlstore through the drivers that it does not import.
package pgsqltest
