// Package docker speaks the API of Docker Engine: plain HTTP with JSON on a unix socket or over TCP,
// with or without TLS. Podman's service speaks the same API.
//
// host.go reads addresses, client.go sends requests, body.go limits answers and waits, stream.go decodes
// what an engine sends bit by bit, exec.go runs programs in containers, and auth.go finds logins for
// registries. The sub-packages translate and spec make request bodies of Salt's arguments.
//
// Every answer has a limit on its size, and every wait for the engine one on its time.
package docker

import (
	"errors"
	"fmt"
)

// An Error is an answer of the engine with a status of 400 or more.
type Error struct {
	Status  int
	Message string
}

// Error returns the status and the engine's text, as Salt prints them.
func (e *Error) Error() string { return fmt.Sprintf("Error %d: %s", e.Status, e.Message) }

// StatusOf returns the status with which the engine refused a request, or 0 for any other error.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}
