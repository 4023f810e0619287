package web

import (
	"net/http/httptest"
	"testing"
)

func TestOriginsOfWebSockets(t *testing.T) {
	for _, tt := range []struct {
		name    string
		origins []string // of the request
		allowed []string
		want    bool
	}{
		{"no browser", nil, nil, true},
		{"same host", []string{"http://salt.example.com:8000"}, nil, true},
		{"same host behind a proxy", []string{"https://Salt.example.com:8000"}, nil, true},
		{"other port", []string{"http://salt.example.com"}, nil, false},
		{"other host", []string{"http://evil.example.com"}, []string{"https://console.example.com"}, false},
		{"allowed", []string{"https://console.example.com"}, []string{"https://console.example.com"}, true},
		{"other scheme", []string{"http://console.example.com"}, []string{"https://console.example.com"}, false},
		{"suffix", []string{"https://console.example.com.evil.org"}, []string{"https://console.example.com"},
			false},
		{"user in the origin", []string{"http://salt.example.com:8000@evil.org"}, nil, false},
		{"opaque", []string{"null"}, []string{"https://console.example.com"}, false},
		{"empty", []string{""}, nil, false},
		{"other scheme with our host", []string{"app://salt.example.com:8000"}, nil, false},
		{"two", []string{"http://salt.example.com:8000", "http://evil.example.com"}, nil, false},
		{"all", []string{"null"}, []string{"*"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://salt.example.com:8000/ws", nil)
			r.Header["Origin"] = tt.origins
			o, err := NewOrigins(tt.allowed)
			if err != nil {
				t.Fatal(err)
			}
			if got := statusOf(o.CheckWebSocket(r)); got != map[bool]int{true: 200, false: 403}[tt.want] {
				t.Errorf("got %d", got)
			}
		})
	}
}
