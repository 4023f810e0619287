package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

const hookSecret = "0123456789abcdef"

// signed returns a request for a hook with a signed body.
func signed(body string) *http.Request {
	sum := hmac.New(sha256.New, []byte(hookSecret))
	sum.Write([]byte(body))
	r := httptest.NewRequest(http.MethodPost, "/hook/github", strings.NewReader(body))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	return r
}

func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return netapi.FaultOf(err).Status
}

// TestADeliveryFiresOneEvent sends signed deliveries again.
func TestADeliveryFiresOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse error
		fired := 0
		h := NewHooks(func(context.Context, string, *data.Map) error {
			if refuse == nil {
				fired++
			}
			return refuse
		}, nil)
		send := func(r *http.Request, secret string) int {
			return statusOf(h.Fire(r, netapi.Caller{Token: "t"}, secret, "t", data.NewMap()))
		}
		other := signed("a")
		other.Header.Set("X-GitHub-Delivery", "another")
		upper := signed("a")
		upper.Header.Set("X-Hub-Signature-256", strings.ToUpper(strings.TrimPrefix(upper.Header.Get("X-Hub-Signature-256"), "sha256=")))
		for _, c := range []struct {
			what string
			r    *http.Request
			want int
		}{{"a delivery", signed("a"), 200}, {"it again", signed("a"), 409}, {"it with another number", other, 409},
			{"it in another spelling", upper, 409}, {"another one", signed("b"), 200}} {
			if got := send(c.r, hookSecret); got != c.want {
				t.Errorf("%s: %d", c.what, got)
			}
		}
		if err := CheckHook(upper, hookSecret, []byte("a")); err != nil {
			t.Error("the other spelling is no signature")
		}
		refuse = errors.New("no master")
		if got := send(signed("c"), hookSecret); got != 503 {
			t.Errorf("without a master: %d", got)
		}
		refuse = nil
		if got := send(signed("c"), hookSecret); got != 200 {
			t.Errorf("a delivery that has failed: %d", got)
		}
		for range 2 {
			gitlab := signed("d")
			gitlab.Header.Set("X-Gitlab-Token", hookSecret)
			if send(gitlab, hookSecret) != 200 || send(signed("a"), "") != 200 {
				t.Error("a hook without a signature is remembered")
			}
		}
		time.Sleep(replayWindow)
		if got := send(signed("a"), hookSecret); got != 200 || fired != 8 {
			t.Errorf("after a while: %d, %d events", got, fired)
		}
		if len(h.seen) != 1 || len(h.order) != 1 {
			t.Errorf("%d old deliveries are remembered", len(h.seen)-1)
		}
		for i := range mostDeliveries + 5 {
			h.remember(string(rune(i)))
		}
		if len(h.seen) > mostDeliveries || len(h.order) > mostDeliveries {
			t.Errorf("%d deliveries are remembered", len(h.seen))
		}
	})
}

// TestADeliveryIsKnownByItsSignature sends a signed body elsewhere: the path is not signed, so that it is no
// other delivery. A body that somebody else has signed is one.
func TestADeliveryIsKnownByItsSignature(t *testing.T) {
	h := NewHooks(func(context.Context, string, *data.Map) error { return nil }, nil)
	for _, c := range []struct {
		path, query, header string
		want                int
	}{
		{"/hook/github", "", "", 200}, {"/hook/github/deploy", "", "", 409}, {"/hook/github", "?x=1", "", 409},
		{"/hook/github", "", "X-Hub-Signature", 409}, {"/hook/github", "", "Date", 409},
	} {
		r := signed("a")
		r.URL.Path, r.URL.RawQuery = c.path, strings.TrimPrefix(c.query, "?")
		if c.header != "" {
			r.Header.Set(c.header, "1")
		}
		if got := statusOf(h.Fire(r, netapi.Caller{}, hookSecret, "salt/netapi"+c.path, data.NewMap())); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	other := signed("a")
	sum := hmac.New(sha256.New, []byte("another secret of a hook"))
	sum.Write([]byte("a"))
	other.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	if got := statusOf(h.Fire(other, netapi.Caller{}, "another secret of a hook", "t", data.NewMap())); got != 200 {
		t.Errorf("the body with another secret: %d", got)
	}
}

// TestAHookDoesNotWaitForEver fires at a master that takes no event.
func TestAHookDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHooks(func(ctx context.Context, _ string, _ *data.Map) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil)
		began := time.Now()
		if got := statusOf(h.Fire(signed("a"), netapi.Caller{}, "", "t", nil)); got != 503 || time.Since(began) != hookPatience {
			t.Errorf("%d after %v", got, time.Since(began))
		}
	})
}

func TestHookHeadersHaveNoSecrets(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/hook", nil)
	for _, name := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Auth-Token", "X-Gitlab-Token", "X-Hub-Signature",
		"X-Hub-Signature-256", "X-Api-Key", "X-Gitea-Signature", "X-Amz-Security-Token", "X-Own-Secret", "Apikey"} {
		r.Header.Set(name, "MARKER")
	}
	for _, name := range []string{"X-Github-Event", "X-Github-Delivery", "User-Agent"} {
		r.Header.Set(name, "kept")
	}
	if text := data.Repr(HookHeaders(r)); strings.Contains(text, "MARKER") || strings.Count(text, "kept") != 3 {
		t.Error(text)
	}
}
