package spool

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// TestReadingWithoutFreeFilesIsTriedAgain lets the process open no further files.
func TestReadingWithoutFreeFilesIsTriedAgain(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	must(t, s.Put([]byte("a")))
	var held []*os.File
	defer func() {
		for _, f := range held {
			must(t, f.Close())
		}
	}()
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	few := limit
	few.Cur = 32
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	defer func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, f)
	}
	if _, _, _, err := s.First(); !errors.Is(err, ErrBusy) {
		t.Errorf("First returns %v", err)
	}
}
