package tokenfiles

import (
	"context"
	"encoding/json"
	"testing"
)

// purge removes all entries of the shelf, as if NATS had lost them.
func purge(ctx context.Context, t *testing.T, s *site) {
	t.Helper()
	m, err := s.servers.Connect(t).RequestWithContext(ctx, "$JS.API.STREAM.PURGE.KV_test_tokens", nil)
	must(t, err)
	var answer struct {
		Success bool `json:"success"`
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil || !answer.Success {
		t.Fatalf("purge: %s, %v", m.Data, err)
	}
}
