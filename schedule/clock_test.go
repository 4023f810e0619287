package schedule

import (
	"fmt"
	"testing"
	"time"
)

func place(t *testing.T, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestInstantsRiseWithTheClock(t *testing.T) {
	for _, c := range []struct{ zone, from, civil, want string }{ // want in UTC
		{"Europe/Berlin", "spring", "2026-03-29T01:59:59", "2026-03-29T00:59:59"},
		{"Europe/Berlin", "left out", "2026-03-29T02:30:00", "2026-03-29T01:00:00"},
		{"Europe/Berlin", "after it", "2026-03-29T03:00:00", "2026-03-29T01:00:00"},
		{"Europe/Berlin", "twice", "2026-10-25T02:30:00", "2026-10-25T00:30:00"},
		{"Europe/Berlin", "after twice", "2026-10-25T03:00:00", "2026-10-25T02:00:00"},
		{"America/New_York", "left out", "2026-03-08T02:30:00", "2026-03-08T07:00:00"},
		{"America/New_York", "twice", "2026-11-01T01:30:00", "2026-11-01T05:30:00"},
		{"Australia/Lord_Howe", "half an hour left out", "2026-10-04T02:15:00", "2026-10-03T15:30:00"},
		{"Australia/Lord_Howe", "half an hour twice", "2026-04-05T01:45:00", "2026-04-04T14:45:00"},
		{"Africa/Casablanca", "twice, before Ramadan", "2026-02-15T02:30:00", "2026-02-15T01:30:00"},
		{"Africa/Casablanca", "left out, after Ramadan", "2026-03-22T02:30:00", "2026-03-22T02:00:00"},
	} {
		if got := instant(civilTime(t, c.civil),
			place(t, c.zone)).UTC().Format("2006-01-02T15:04:05"); got != c.want {
			t.Errorf("%s in %s (%s) is %s, want %s", c.civil, c.zone, c.from, got, c.want)
		}
	}
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
		"Africa/Casablanca"} {
		l, last := place(t, zone), time.Time{}
		for n := civilTime(t, "2026-01-01T00:00:00"); n.Year() == 2026; n = n.Add(5 * time.Minute) {
			at := instant(n, l)
			if at.Before(last) {
				t.Fatalf("%v in %s goes back", n, zone)
			}
			last = at
		}
	}
}

// TestDaylightSaving runs a job at half past and one every quarter of an hour over both changes of
// the year.
func TestDaylightSaving(t *testing.T) {
	for _, c := range []struct {
		zone, start string // in UTC
		jobs        string
		hours       int
		want        []string
	}{
		{"Europe/Berlin", "2026-03-29T00:45:00", "a: {cron: '30 2 * * *'}\nb: {cron: '0 * * * *'}", 3,
			[]string{"a 0329T03:00:00", "b 0329T03:00:00", "b 0329T04:00:00", "b 0329T05:00:00"}},
		{"Europe/Berlin", "2026-10-24T23:45:00", "a: {cron: '30 2 * * *'}\nb: {cron: '0 * * * *'}", 4,
			[]string{"b 1025T02:00:00", "a 1025T02:30:00", "b 1025T03:00:00", "b 1025T04:00:00"}},
		{"Europe/Berlin", "2026-03-29T00:45:00", "a: {when: ['2:10am', '2:30am', '3am']}", 3,
			[]string{"a 0329T03:00:00"}},
		{"Europe/Berlin", "2026-03-29T00:45:00", "a: {once: '2026-03-29T02:30:00'}", 25,
			[]string{"a 0329T03:00:00"}},
		{"Europe/Berlin", "2026-10-24T23:45:00", "a: {once: '2026-10-25T02:30:00'}", 25,
			[]string{"a 1025T02:30:00"}},
		{"America/New_York", "2026-03-08T06:45:00", "a: {cron: '30 2 * * *'}", 26,
			[]string{"a 0308T03:00:00", "a 0309T02:30:00"}},
		{"America/New_York", "2026-11-01T04:45:00", "a: {when: '1:30am'}", 26,
			[]string{"a 1101T01:30:00", "a 1102T01:30:00"}},
		{"Australia/Lord_Howe", "2026-10-03T15:10:00", "a: {cron: '15 2 * * *'}", 25,
			[]string{"a 1004T02:30:00", "a 1005T02:15:00"}},
		{"Australia/Lord_Howe", "2026-04-04T14:31:00", "a: {cron: '45 1 * * *'}", 25,
			[]string{"a 0405T01:45:00", "a 0406T01:45:00"}},
		{"Africa/Casablanca", "2026-02-15T00:45:00", "a: {cron: '30 2 * * *'}", 26,
			[]string{"a 0215T02:30:00", "a 0216T02:30:00"}},
		{"Africa/Casablanca", "2026-03-22T01:45:00", "a: {cron: '30 2 * * *'}", 24,
			[]string{"a 0322T03:00:00", "a 0323T02:30:00"}},
	} {
		t.Run(c.zone+" "+c.jobs, func(t *testing.T) {
			inBubble(t, c.start, c.jobs, Options{Location: place(t, c.zone)}, func(b *bench) {
				b.pass(time.Duration(c.hours) * time.Hour)
				b.sortFired()
				b.expect(c.want...)
			})
		})
	}
}

func TestIntervalKeepsItsPaceWhenTheClockIsSet(t *testing.T) {
	for _, to := range clockJumps() {
		t.Run(to.name, func(t *testing.T) {
			inBubble(t, "2026-05-04T10:00:30", "a: {seconds: 600}", Options{}, func(b *bench) {
				start := time.Now()
				for i := range 6 {
					b.pass(9*time.Minute + 59*time.Second)
					if n := b.count(); n != 0 {
						t.Errorf("fired %d times before its time", n)
					}
					b.pass(time.Second)
					if n := b.count(); n != 1 {
						t.Errorf("fired %d times after %v", n, time.Since(start))
					}
					if i == 2 {
						b.setTo(to.at(b.now()))
					}
				}
			})
		})
	}
}

type clockJump struct {
	name string
	at   func(now time.Time) time.Time
}

func clockJumps() []clockJump {
	var all []clockJump
	for _, d := range []time.Duration{time.Second, 5 * time.Minute, time.Hour, 25 * time.Hour,
		365 * 24 * time.Hour} {
		for _, d := range []time.Duration{d, -d} {
			all = append(all, clockJump{fmt.Sprint(d), func(now time.Time) time.Time { return now.Add(d) }})
		}
	}
	for _, at := range []string{"1970-01-01T00:00:00", "2038-01-19T03:14:07"} {
		all = append(all, clockJump{at,
			func(time.Time) time.Time { c, _ := ParseTime(at, TimeFormat); return c }})
	}
	return all
}

// TestEveryMomentFiresOnce sets the clock and then back, and looks which wall times have fired.
func TestEveryMomentFiresOnce(t *testing.T) {
	for _, to := range clockJumps() {
		t.Run(to.name, func(t *testing.T) {
			inBubble(t, "2026-05-04T10:00:30", "a: {cron: '*/10 * * * *'}", Options{}, func(b *bench) {
				b.pass(3 * time.Hour)
				home, went := b.now(), time.Now()
				b.setTo(to.at(home))
				b.pass(30 * time.Hour)
				b.setTo(home.Add(time.Since(went)))
				b.pass(3 * time.Hour)
				due := map[time.Time]int{}
				for _, c := range b.called() {
					due[c.Due]++
				}
				for at, n := range due {
					if n > 1 {
						t.Errorf("%v fired %d times", at, n)
					}
				}
				if len(due) < 150 {
					t.Errorf("%d moments fired in 36 hours", len(due))
				}
			})
		})
	}
}

func TestMomentsAfterTheClockIsSet(t *testing.T) {
	for _, c := range []struct {
		name, jobs string
		jump       time.Duration
		pass       time.Duration
		want       []string
	}{
		{"a second over it", "a: {cron: '0 11 * * *'}", time.Hour, 2 * time.Minute,
			[]string{"a 0504T11:00:01"}},
		{"five minutes over it", "a: {when: '11:00'}", time.Hour + 5*time.Minute, 2 * time.Minute,
			[]string{"a 0504T11:05:01"}},
		{"an hour over it", "a: {once: '2026-05-04T11:00:00'}", 2 * time.Hour, 48 * time.Hour,
			[]string{"a 0504T12:00:01"}},
		{"a day over it, three hours ago", "a: {cron: '0 9 * * *'}", 25 * time.Hour,
			2 * time.Minute, []string{"a 0505T11:00:01"}},
		{"a day over it, long ago", "a: {cron: '0 7 * * *'}", 25 * time.Hour, 24 * time.Hour,
			[]string{"a 0506T07:00:00"}},
		{"a day over many", "a: {cron: '0 * * * *'}", 25 * time.Hour, time.Hour,
			[]string{"a 0505T11:00:01", "a 0505T12:00:00"}},
		{"an hour back", "a: {cron: '0 11 * * *'}", -time.Hour, 3 * time.Hour, []string{"a 0504T11:00:00"}},
		{"a second back", "a: {when: '11:00'}", -time.Second, 2 * time.Hour, []string{"a 0504T11:00:00"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, "2026-05-04T10:00:00", c.jobs, Options{}, func(b *bench) {
				b.pass(time.Second)
				b.jump(c.jump)
				b.pass(0)
				b.ask("func", "list")
				b.stir()
				b.pass(c.pass)
				b.expect(c.want...)
			})
		})
	}
}

func TestClockSetBackAfterTheMomentDoesNotRepeatIt(t *testing.T) {
	inBubble(t, "2026-05-04T10:59:00",
		"a: {when: '11:00'}\nb: {once: '2026-05-04T11:00:00', splay: 600}", Options{
			Rand: func(n int64) int64 { return n - 1 },
		}, func(b *bench) {
			b.pass(5 * time.Minute)
			b.expect("a 0504T11:00:00")
			b.jump(-time.Hour)
			b.pass(2*time.Hour + 5*time.Minute)
			b.expect("b 0504T11:10:00")
		})
}

func TestClockThatWasWrongWhileAJobWasDisabled(t *testing.T) {
	inBubble(t, "2026-05-04T10:30:00", "a: {cron: '0 * * * *', enabled: false}", Options{}, func(b *bench) {
		b.jump(25 * time.Hour)
		b.ask("func", "list")
		b.jump(-25 * time.Hour)
		b.ask("func", "enable_job", "name", "a")
		b.pass(time.Hour)
		b.expect("a 0504T11:00:00")
	})
}

func TestSpansThatAreRememberedAreFew(t *testing.T) {
	c := course{now: span{time.Unix(0, 0), time.Unix(0, 0)}}
	for i := range int64(100) {
		c.remember(span{time.Unix(100*i, 0), time.Unix(100*i+50, 0)})
		c.remember(span{time.Unix(100*i+20, 0), time.Unix(100*i+60, 0)})
		c.remember(span{time.Unix(100*i+80, 0), time.Unix(100*i+80, 0)}) // empty
	}
	if want := (span{time.Unix(9900, 0), time.Unix(9960, 0)}); len(c.lived) != mostSpans ||
		c.lived[mostSpans-1] != want {
		t.Errorf("remembers %v", c.lived)
	}
}

func TestClockIsLookedAtEachMinute(t *testing.T) {
	inBubble(t, "2026-05-04T10:00:00", "a: {when: '2026-12-24 5pm'}", Options{}, func(b *bench) {
		b.pass(time.Hour)
		b.set("2026-12-24T16:58:30")
		b.pass(2 * time.Minute)
		b.expect("a 1224T17:00:00")
	})
}

func TestIdleSchedulerDoesNotWake(t *testing.T) {
	for _, jobs := range []string{"", "enabled: true", "a: {function: test.ping}",
		"enabled: false\na: {cron: '* * * * *'}", "a: {seconds: 1, enabled: false}",
		"a: {days: 30}", "a: {once: '2001-01-01T00:00:00'}", "a: {cron: nonsense}"} {
		t.Run(jobs, func(t *testing.T) {
			inBubble(t, "2026-05-04T10:00:00", jobs, Options{}, func(b *bench) {
				b.pass(time.Hour)
				before := b.looked()
				b.pass(24 * time.Hour)
				if n := b.looked() - before; n != 0 {
					t.Errorf("woke %d times in a day", n)
				}
			})
		})
	}
}
