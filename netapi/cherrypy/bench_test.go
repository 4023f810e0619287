package cherrypy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/netapitest"
)

// BenchmarkPing orders test.ping of one minion and of four, master and minions in the same process.
func BenchmarkPing(b *testing.B) {
	benchmark(b, "POST", "/", `{"client": "local", "tgt": "*", "fun": "test.ping"}`)
}

// BenchmarkMinions reads the grains of one minion and of four, likewise.
func BenchmarkMinions(b *testing.B) { benchmark(b, "GET", "/minions", "") }

// benchmark sends requests of several clients at once.
func benchmark(b *testing.B, method, path, body string) {
	for _, minions := range []int{1, 4} {
		b.Run(fmt.Sprintf("minions=%d", minions), func(b *testing.B) {
			var ids []string
			for i := range minions {
				ids = append(ids, fmt.Sprintf("m%d", i+1))
			}
			s := netapitest.Start(b, door(), "main", ids...)
			session := s.LogIn(b, "saltdev")
			b.ReportAllocs()
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequest(method, s.Server.URL+path, strings.NewReader(body))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Accept", "*/*")
					r.Header.Set("Content-Type", asJSON)
					r.Header.Set("X-Auth-Token", session)
					answer, err := http.DefaultClient.Do(r)
					if err != nil || answer.StatusCode != http.StatusOK {
						b.Error(err, answer)
						return
					}
					// else the connection is not used again
					if _, err := io.Copy(io.Discard, answer.Body); err != nil {
						b.Error(err)
					}
					answer.Body.Close()
				}
			})
		})
	}
}
