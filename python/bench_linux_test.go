package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/python"
)

// measured is a module whose functions do as little as they can.
const measured = `
import os, time

def empty():
    pass

def echo(value):
    return value

def pid():
    return str(os.getpid())

def template():
    return str(os.getppid())

def cpu():
    return time.process_time()

def loop(count):
    """Return seconds for calls of a function through __salt__, and for direct ones."""
    begin = time.perf_counter()
    for _ in range(count):
        __salt__["own.empty"]()
    middle = time.perf_counter()
    for _ in range(count):
        empty()
    return [middle - begin, time.perf_counter() - middle]
`

// interpreter returns the path of Python itself, which python3 in the PATH may only find.
func interpreter(b *testing.B) string {
	b.Helper()
	need.Program(b, "python3")
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// bare returns the time that a Python takes that does nothing.
func bare(b *testing.B, program string) time.Duration {
	b.Helper()
	begin := time.Now()
	if err := exec.Command(program, "-c", "pass").Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// BenchmarkStart starts the host program of a command, loads a file and calls a function, and
// compares with python3 -c pass.
func BenchmarkStart(b *testing.B) {
	program, cache := interpreter(b), b.TempDir()
	var ours, bares []time.Duration
	for b.Loop() {
		bares = append(bares, bare(b, program))
		d := newDaemon(b, map[string]string{"own": "def empty():\n    pass\n"}, func(o *python.Options) {
			o.Daemon, o.Interpreter, o.CacheDir = false, program, cache
		})
		begin := time.Now()
		d.want(b, "None", "own.empty")
		ours = append(ours, time.Since(begin))
		if err := d.host.Close(); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(micros(median(ours)), "µs/median")
	b.ReportMetric(float64(median(ours))/float64(median(bares)), "x/python3")
}

// cpu returns the processor time that this process and the worker of a job have taken.
func (j *job) cpu() time.Duration {
	v, err := j.daemon.functions.Invoke(j.ctx, "own.cpu", nil, nil)
	if err != nil {
		j.t.Fatal(err)
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		j.t.Fatal(err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + time.Duration(v.(float64)*float64(time.Second))
}

// BenchmarkCall calls an empty function again and again within a job. It reports the processor time
// of both sides too, which other programs on the machine disturb less.
func BenchmarkCall(b *testing.B) {
	d := newDaemon(b, map[string]string{"own": measured})
	j := d.begin(b)
	defer j.end()
	j.call("own.empty")
	var all []time.Duration
	before := j.cpu()
	for b.Loop() {
		begin := time.Now()
		if got := j.call("own.empty"); got != "None" {
			b.Fatal(got)
		}
		all = append(all, time.Since(begin))
	}
	b.ReportMetric(micros(j.cpu()-before)/float64(b.N), "µs-cpu/call")
	b.ReportMetric(micros(median(all)), "µs/median")
}

// BenchmarkJob calls an empty function in a job of its own, and compares with python3 -c pass.
func BenchmarkJob(b *testing.B) {
	program := interpreter(b)
	d := newDaemon(b, map[string]string{"own": measured}, func(o *python.Options) { o.Interpreter = program })
	d.want(b, "None", "own.empty")
	var ours, bares []time.Duration
	for b.Loop() {
		begin := time.Now()
		d.want(b, "None", "own.empty")
		ours = append(ours, time.Since(begin))
		if len(bares) < 20 {
			bares = append(bares, bare(b, program))
		}
	}
	b.ReportMetric(micros(median(ours)), "µs/median")
	b.ReportMetric(float64(median(ours))/float64(median(bares)), "x/python3")
}

// BenchmarkSalt calls a Python function from Python through __salt__, and compares with a direct call.
func BenchmarkSalt(b *testing.B) {
	const count = 10000
	d := newDaemon(b, map[string]string{"own": measured})
	j := d.begin(b)
	defer j.end()
	var ours, direct float64
	for b.Loop() {
		v, err := d.functions.Invoke(j.ctx, "own.loop", []any{int64(count)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		times := v.([]any)
		ours += times[0].(float64)
		direct += times[1].(float64)
	}
	b.ReportMetric(ours/float64(b.N)/count*1e6, "µs/call")
	b.ReportMetric(ours/direct, "x/direct")
}

// BenchmarkDirectory runs jobs with a directory of few and of many files.
func BenchmarkDirectory(b *testing.B) {
	for _, size := range []int{10, 1000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			modules := map[string]string{"own": measured}
			for i := range size - 1 {
				modules[fmt.Sprintf("file%d", i)] = "def f():\n    return 1\n"
			}
			d := newDaemon(b, modules)
			for b.Loop() {
				d.want(b, "None", "own.empty")
			}
		})
	}
}

// BenchmarkLoad loads a file with few and with many functions.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{10, 1000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			text := measured
			for i := range size {
				text += fmt.Sprintf("\ndef f%d(a, b=1, *args, **kwargs):\n    \"\"\"\n    Do it.\n    \"\"\"\n    return a\n", i)
			}
			d := newDaemon(b, map[string]string{"own": text})
			for b.Loop() {
				d.functions.Reload()
				if _, ok := d.functions.Func("own.empty"); !ok {
					b.Fatal("there is no function")
				}
			}
		})
	}
}

// BenchmarkValue sends values of two sizes to Python and back.
func BenchmarkValue(b *testing.B) {
	for _, size := range []int{10, 10000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			d := newDaemon(b, map[string]string{"own": measured})
			value := data.NewMap()
			for i := range size {
				value.Set("key"+strconv.Itoa(i), []any{int64(i), "text", true, nil, 1.5})
			}
			j := d.begin(b)
			defer j.end()
			for b.Loop() {
				if _, err := d.functions.Invoke(j.ctx, "own.echo", []any{value}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports the memory of a template and of a worker: resident, and the share of each
// in what they have in common.
func BenchmarkMemory(b *testing.B) {
	d := newDaemon(b, map[string]string{"own": measured})
	for b.Loop() {
		j := d.begin(b)
		for _, name := range []string{"template", "pid"} {
			pid := strings.Trim(j.call("own."+name), "'")
			b.ReportMetric(float64(status(b, pid, "VmRSS")), "KiB-rss-"+name)
			rollup, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
			if err != nil {
				b.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(rollup), "Pss:")
			pss, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(pss), "KiB-pss-"+name)
		}
		j.end()
	}
}
