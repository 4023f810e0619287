package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// The same form of the same page, sent twice, is carried out once.
func TestFormSentTwice(t *testing.T) {
	b := open(t, "m1")
	b.logIn(t, "saltdev")
	numberOf := func() string {
		return between(t, b.get(t, "/run?tgt=m1&fun=test.arg").body, `name="once" value="`, `"`)
	}
	number := numberOf()
	if other := numberOf(); other == number || number == "" {
		t.Errorf("two pages have the numbers %q and %q", number, other)
	}
	paths := make([]string, 8)
	var all sync.WaitGroup
	for i := range paths {
		all.Go(func() {
			stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			one := &browser{Site: b.Site, client: &http.Client{Jar: b.client.Jar, CheckRedirect: stay}}
			got := one.post(t, "/run", "tgt", "m1", "fun", "test.arg", "shown", "test.arg", "args", "one", "once", number)
			paths[i] = got.header.Get("Location")
		})
	}
	all.Wait()
	for _, path := range paths {
		if path != paths[0] || !strings.HasPrefix(path, "/console/jobs/20") {
			t.Fatalf("the forms lead to %v", paths)
		}
	}
	again := func(arg string) *page {
		return b.post(t, "/run", "tgt", "m1", "fun", "test.arg", "shown", "test.arg", "args", arg, "once", number)
	}
	if got := again("one"); got.path != paths[0] || !strings.Contains(got.body, "This form was sent twice. It was carried out once.") {
		t.Errorf("the form leads to %s and not to %s:\n%s", got.path, paths[0], got.body)
	}
	if got := again("two"); got.path == paths[0] || !strings.HasPrefix(got.path, "/console/jobs/20") {
		t.Errorf("a form with other contents leads to %s", got.path)
	}

	// a form that was not carried out can be sent again
	for i := range 2 {
		b.post(t, "/run", "tgt", "nobody", "fun", "test.ping", "once", fmt.Sprint("x", number)).want(t, 400, "No minion matches")
		if i == 1 {
			b.post(t, "/run", "tgt", "m1", "fun", "test.ping", "once", fmt.Sprint("x", number)).want(t, 200, "test.ping")
		}
	}
}
