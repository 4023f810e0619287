//go:build linux

package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testnats"
)

// TestClusterFullDisk fills the disk of a member, and that of a server of NATS.
func TestClusterFullDisk(t *testing.T) {
	need.Time(t, "it runs a cluster")
	if !need.Mounts(t) {
		return
	}
	stores := map[string]*disk{} // of the servers
	small := func(store string) {
		d := newDisk(t)
		d.mount(t, store, ".")
		stores[store] = d
	}
	var ofMember *disk
	k := newCrewOn(t, testnats.Options{Prepare: small}, "", func(c *Cluster) {
		ofMember = newDisk(t)
		m := c.Masters[2]
		ofMember.mount(t, m.cfg.PKIDir, "pki")
		ofMember.mount(t, m.cfg.CacheDir, "cache")
	})
	t.Run("member", func(t *testing.T) {
		k.under(t, k.boundedMemory(func(t *testing.T) { k.fullMember(t, k.c.Masters[2], ofMember) }))
	})
	t.Run("server", func(t *testing.T) {
		n := k.nats.Leader(t, ordersStream)
		k.under(t, k.boundedMemory(func(t *testing.T) { k.fullServer(t, n, stores[k.nats.Store(n.Name)]) }))
	})
}

// A disk is a file system of a small size.
type disk struct{ root string }

// newDisk makes a file system that goes with the test.
func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{t.TempDir()}
	must(t, unix.Mount("tmpfs", d.root, "tmpfs", 0, "size=96m,mode=700"))
	t.Cleanup(func() { must(t, unix.Unmount(d.root, unix.MNT_DETACH)) })
	return d
}

// mount puts a directory of the disk in the place of another one, with the files of that.
func (d *disk) mount(t *testing.T, dir, name string) {
	t.Helper()
	here := filepath.Join(d.root, name)
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.MkdirAll(here, 0o700))
	if out, err := exec.Command("cp", "-a", dir+"/.", here).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", dir, err, out)
	}
	must(t, unix.Mount(here, dir, "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

func (d *disk) ballast() string { return filepath.Join(d.root, "ballast") }

// free returns how many bytes can be written.
func (d *disk) free(t *testing.T) int64 {
	t.Helper()
	var s unix.Statfs_t
	must(t, unix.Statfs(d.root, &s))
	return int64(s.Bavail) * s.Bsize
}

// fill writes a file that leaves some bytes.
func (d *disk) fill(t *testing.T, leave int64) {
	t.Helper()
	f, err := os.Create(d.ballast())
	must(t, err)
	defer f.Close()
	block := bytes.Repeat([]byte("x"), 4096)
	for d.free(t) > leave {
		if _, err := f.Write(block); err != nil {
			if errors.Is(err, unix.ENOSPC) { // the others write, too
				return
			}
			t.Fatal(err)
		}
	}
}

// clear gives the room back that fill took.
func (d *disk) clear(t *testing.T) {
	t.Helper()
	must(t, os.Remove(d.ballast()))
}

// fullMember fills the disk of a member with a file until it has not carried out orders.
func (k *crew) fullMember(t *testing.T, m *Master, d *disk) {
	rest(t, time.Second)
	log := logLength(t, m)
	d.fill(t, 0)
	logged(t, m, log, "cannot be carried out here; trying again")
	k.rejectSpare(t)
	rest(t, ofForm(3*time.Second, time.Minute))
	if n := d.free(t); n != 0 {
		t.Errorf("the run is void: the disk of %s has %d bytes left", m.Name, n)
	}
	d.clear(t)
	rest(t, time.Second)
}

// rejectSpare rejects a key that runs no minion, so that members have to change files.
func (k *crew) rejectSpare(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := control(ctx, k.c.Masters[0], "wheel", "key.reject", k.spare[(k.turn+1)%spares])
	must(t, err)
}

// fullServer leaves so little room on the disk of a server of NATS that the load fills it: JetStream
// stops there, and starts again with the server.
func (k *crew) fullServer(t *testing.T, n *testnats.Node, d *disk) {
	rest(t, time.Second)
	before := len(n.Log(t))
	d.fill(t, 256<<10)
	said := ""
	for _, text := range []string{"no space left on device", "resources, will be DISABLED"} {
		testnats.Eventually(t, func() bool {
			said = n.Log(t)[before:]
			return strings.Contains(said, text)
		}, func() string {
			return fmt.Sprintf("the log of %s lacks %q, %d bytes are left:\n%s", n.Name, text, d.free(t), said)
		})
	}
	// nats-server 2.10 leaves its groups, 2.14 stays in them and stores nothing
	away := regexp.MustCompile("'" + n.Name + "': '(offline|[0-9]{2,} entries behind)'")
	status := ""
	testnats.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		is, err := control(ctx, k.c.Masters[0], "runner", "cluster.status")
		status = fmt.Sprint(data.Repr(is), err)
		return away.MatchString(status)
	}, func() string { return n.Name + " is neither offline nor behind: " + status })
	rest(t, ofForm(3*time.Second, time.Minute))
	d.clear(t)
	n.Restart(t)
	rest(t, time.Second)
}

// mostGrowth is by how many bytes the memory of a member may grow under a fault.
const mostGrowth = 96 << 20

// boundedMemory returns a fault after which the test fails if the memory of a member has grown by more
// than mostGrowth.
func (k *crew) boundedMemory(fault func(t *testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		before := k.resident(t)
		fault(t)
		after := k.resident(t)
		t.Logf("resident memory of the members: %d MiB before, %d MiB after", inMiB(before), inMiB(after))
		for i, m := range k.c.Masters {
			if after[i]-before[i] > mostGrowth {
				t.Errorf("the memory of %s has grown from %d to %d bytes", m.Name, before[i], after[i])
			}
		}
	}
}

func inMiB(bytes []int) (all []int) {
	for _, n := range bytes {
		all = append(all, n>>20)
	}
	return all
}

// resident returns how many bytes of memory each master has.
func (k *crew) resident(t *testing.T) (all []int) {
	t.Helper()
	for _, m := range k.c.Masters {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Pid()))
		must(t, err)
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kib int
		_, err = fmt.Sscan(rest, &kib)
		must(t, err)
		all = append(all, kib<<10)
	}
	return all
}
