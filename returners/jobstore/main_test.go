package jobstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/returnertest"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(victimFile); file != "" {
		victim(file)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestContract(t *testing.T) {
	returnertest.Run(t, func(t *testing.T) returnertest.Opener {
		file := filepath.Join(t.TempDir(), "jobs.db")
		return func(ctx context.Context) (returners.JobCache, error) { return Open(ctx, file, Options{}) }
	})
}
