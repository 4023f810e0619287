package program

import (
	"strings"
	"testing"
)

// TestProcessesHaveALimit checks that a job has no more than maxProcesses of a program.
func TestProcessesHaveALimit(t *testing.T) {
	s := &session{path: "/own", all: make([]*process, maxProcesses)}
	_, err := s.take(t.Context())
	want := "start the program /own: this job already has 100 processes of it"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("take = %v, want %s", err, want)
	}
}
