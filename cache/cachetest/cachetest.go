// Package cachetest is a test suite for implementations of cache.Bank.
package cachetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/cache"
)

// Run tests the caches that open returns, each of them empty.
func Run(t *testing.T, open func(t *testing.T) cache.Bank) {
	for name, test := range map[string]func(*testing.T, cache.Bank){
		"a value is kept":                     keeps,
		"what is not there is not found":      missing,
		"a flush drops one key or all":        flushes,
		"names that lead elsewhere are wrong": refuses,
		"readers never see a part":            atomic,
		"the time of the last change is told": updated,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func store(t *testing.T, c cache.Bank, bank, key, value string) {
	t.Helper()
	if err := c.Store(bank, key, []byte(value)); err != nil {
		t.Fatalf("Store(%q, %q): %v", bank, key, err)
	}
}

func keeps(t *testing.T, c cache.Bank) {
	store(t, c, "minions/web1", "data", "one")
	store(t, c, "minions/web1", "data", "two")
	store(t, c, "minions/web2", "mine", "")
	if got, err := c.Fetch("minions/web1", "data"); err != nil || string(got) != "two" {
		t.Errorf("Fetch = %q, %v, want two", got, err)
	}
	if got, err := c.List("minions"); err != nil || !slices.Equal(got, []string{"web1", "web2"}) {
		t.Errorf("List(minions) = %q, %v", got, err)
	}
	if got, err := c.List("minions/web1"); err != nil || !slices.Equal(got, []string{"data"}) {
		t.Errorf("List(minions/web1) = %q, %v", got, err)
	}
}

func missing(t *testing.T, c cache.Bank) {
	if _, err := c.Fetch("minions/web1", "data"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Fetch = %v, want ErrNotFound", err)
	}
	if _, err := c.Updated("minions/web1", "data"); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("Updated = %v, want ErrNotFound", err)
	}
	if got, err := c.List("minions"); err != nil || len(got) > 0 {
		t.Errorf("List = %q, %v", got, err)
	}
	if err := c.Flush("minions/web1", "data"); err != nil {
		t.Errorf("Flush: %v", err)
	}
}

func flushes(t *testing.T, c cache.Bank) {
	store(t, c, "b", "one", "1")
	store(t, c, "b", "two", "2")
	if err := c.Flush("b", "one"); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.List("b"); !slices.Equal(got, []string{"two"}) {
		t.Errorf("List after one flush = %q", got)
	}
	if err := c.Flush("b", ""); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.List("b"); len(got) > 0 {
		t.Errorf("List after the bank was flushed = %q", got)
	}
}

func refuses(t *testing.T, c cache.Bank) {
	for _, n := range [][2]string{{"..", "a"}, {"a/../..", "b"}, {"a", "../b"}, {"a", ""},
		{"", "a"}, {"a\x00", "b"}, {"/a", "b"}, {"a", ".b"}, {"a", `b\c`}} {
		if err := c.Store(n[0], n[1], []byte("x")); err == nil {
			t.Errorf("Store(%q, %q) was accepted", n[0], n[1])
		}
		if _, err := c.Fetch(n[0], n[1]); err == nil || errors.Is(err, cache.ErrNotFound) {
			t.Errorf("Fetch(%q, %q) = %v, want a refusal", n[0], n[1], err)
		}
	}
	if err := c.Flush("..", ""); err == nil {
		t.Error("Flush of .. was accepted")
	}
}

func atomic(t *testing.T, c cache.Bank) {
	values := []string{"aaaaaaaaaaaaaaaa", "bbbbbbbb"}
	store(t, c, "b", "k", values[0])
	var writers sync.WaitGroup
	for _, v := range values {
		writers.Go(func() {
			for range 100 {
				if err := c.Store("b", "k", []byte(v)); err != nil {
					t.Errorf("Store: %v", err)
				}
			}
		})
	}
	for range 200 {
		if got, err := c.Fetch("b", "k"); err != nil || !slices.Contains(values, string(got)) {
			t.Errorf("Fetch = %q, %v", got, err)
		}
	}
	writers.Wait()
}

func updated(t *testing.T, c cache.Bank) {
	before := time.Now().Add(-time.Minute)
	store(t, c, "b", "k", "v")
	if at, err := c.Updated("b", "k"); err != nil || at.Before(before) {
		t.Errorf("Updated = %v, %v", at, err)
	}
}
