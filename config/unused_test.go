package config

import (
	"slices"
	"testing"
)

func namesOf(list []Unused) []string {
	var names []string
	for _, u := range list {
		names = append(names, u.Name)
		if u.Why == "" {
			names = append(names, "without a reason")
		}
	}
	return names
}

// TestUnusedReportsOptionsWithoutEffect sets options of several kinds: without effect for one role,
// of the other role, at their default, with a value that matches the actual behaviour, and read
// only by Salt's own plug-ins.
func TestUnusedReportsOptionsWithoutEffect(t *testing.T) {
	dir := tree(t, map[string]string{
		"master": "archive_jobs: true\neauth_tokens: rediscluster\nkey_cache: sched\ndiscovery: true\ncache: localfs_key\n" +
			"con_cache: false\nmaster_tries: 3\nhalite: {a: 1}\ntimeout: 7\nmine: own\n",
		"minion": "id: m\nauth_safemode: true\nreturn_retry_timer: 6\nworker_threads: 7\n" +
			"startup_states: highstate\nid_function: test.version\nmultiprocessing: true\n",
	})
	master, report, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"archive_jobs", "discovery", "eauth_tokens", "halite", "key_cache", "master_tries"}
	if got := namesOf(master.Unused(report)); !sameNames(got, want) {
		t.Errorf("of the master: %q, want %q", got, want)
	}
	minion, report, err := LoadMinion(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"auth_safemode", "return_retry_timer", "worker_threads"}
	if got := namesOf(minion.Unused(report)); !sameNames(got, want) {
		t.Errorf("of the minion: %q, want %q", got, want)
	}
}

func sameNames(got, want []string) bool {
	slices.Sort(got)
	return slices.Equal(got, want)
}
