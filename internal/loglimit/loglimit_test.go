package loglimit

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// want calls Allow, and compares what it returns.
func want(t *testing.T, l *Limiter, subject string, skipped int, ok bool) {
	t.Helper()
	if n, got := l.Allow(subject); n != skipped || got != ok {
		t.Errorf("Allow(%q) = %d, %v; want %d, %v", subject, n, got, skipped, ok)
	}
}

func TestOneLineInAPause(t *testing.T) {
	for pause, l := range map[time.Duration]*Limiter{
		time.Minute: {}, time.Hour: {Pause: time.Hour}, time.Second: {Pause: time.Second, Free: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			want(t, l, "web1", 0, true)
			want(t, l, "web1", 0, false)
			time.Sleep(pause - 1)
			want(t, l, "web1", 0, false)
			want(t, l, "web2", 0, true)
			time.Sleep(1)
			want(t, l, "web1", 2, true)
			want(t, l, "web1", 0, false)
			if l.First("web2") || !l.First("web3") {
				t.Error("First does not say what Allow says")
			}
			time.Sleep(pause)
			want(t, l, "web1", 1, true)
			time.Sleep(pause)
			want(t, l, "web1", 0, true)
		})
	}
}

func TestFreeLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Free: 3}
		for range 3 {
			want(t, l, "web1", 0, true)
			time.Sleep(time.Second)
		}
		want(t, l, "web1", 0, false)
		time.Sleep(time.Minute - time.Second) // since the last that was free
		want(t, l, "web1", 1, true)
		want(t, l, "web1", 0, false)
	})
}

func TestClockSetBack(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	l := &Limiter{Now: func() time.Time { return now }}
	want(t, l, "web1", 0, true)
	now = now.Add(-time.Hour)
	want(t, l, "web1", 0, true)
	want(t, l, "web1", 0, false)
}

// When a Limiter is full it forgets the subjects whose pause is over, and all of them if there are
// none.
func TestSubjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		for i := range maxSubjects - 1 {
			want(t, l, fmt.Sprint("old ", i), 0, true)
		}
		time.Sleep(time.Minute)
		want(t, l, "young", 0, true)
		want(t, l, "one more", 0, true)
		want(t, l, "young", 0, false)
		if n := len(l.subjects); n != 2 {
			t.Errorf("%d subjects are remembered; want the two of this minute", n)
		}
		for i := range 3 * maxSubjects {
			want(t, l, fmt.Sprint(i), 0, true)
			if n := len(l.subjects); n > maxSubjects {
				t.Fatalf("%d subjects are remembered", n)
			}
		}
	})
}

// warnings collects warnings.
type warnings []string

func (w *warnings) Warnf(format string, args ...any) {
	*w = append(*w, fmt.Sprintf(format, args...))
}

func TestWarningsCountTheSkippedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		var got warnings
		for i := range 3 {
			l.Warnf(&got, "web1", "request %d of %s refused", i, "web1")
		}
		time.Sleep(time.Minute)
		l.Warnf(&got, "web1", "request %d of %s refused", 3, "web1")
		want := warnings{"request 0 of web1 refused",
			"request 3 of web1 refused (2 more since the last warning)"}
		if !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}
