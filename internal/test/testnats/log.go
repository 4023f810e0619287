package testnats

import (
	"os"
	"testing"
)

// Log returns what the node has written to its log.
func (n *Node) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
