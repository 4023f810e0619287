//go:build linux && amd64

package wrongclock

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Start starts a command as its Start method does, with a clock that is off by whole seconds. Its
// SysProcAttr may be set. The error wraps ErrRefused if the system does not allow it; no process is
// left then.
func Start(cmd *exec.Cmd, off time.Duration) (*Clock, error) {
	runtime.LockOSThread() // only the thread that started it may trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = cmp.Or(cmd.SysProcAttr, &syscall.SysProcAttr{})
	cmd.SysProcAttr.Ptrace = true
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	c, err := install(cmd.Process.Pid, off)
	if err == nil {
		return c, nil
	}
	cmd.Process.Kill()
	cmd.Wait() // reports the signal
	return nil, fmt.Errorf("set the clock of %s: %w", cmd.Path, err)
}

// install changes the clock of a process that stands at its exec, and lets it run.
func install(pid int, off time.Duration) (*Clock, error) {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return nil, fmt.Errorf("wait for its exec: %w", err)
	}
	if !status.Stopped() {
		return nil, fmt.Errorf("it does not stand at its exec: status %#x", status)
	}
	base, size, err := findVDSO(pid)
	if err != nil {
		return nil, err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	defer mem.Close()
	image := make([]byte, size)
	if _, err := mem.ReadAt(image, int64(base)); err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	c := &Clock{pid: pid}
	writes, err := c.patch(base, image, off)
	if err != nil {
		return nil, err
	}
	for at, code := range writes {
		if _, err := mem.WriteAt(code, int64(at)); err != nil {
			return nil, fmt.Errorf("%w: write into the vDSO: %w", ErrRefused, err)
		}
	}
	if err := syscall.PtraceDetach(pid); err != nil {
		return nil, fmt.Errorf("let it run: %w", err)
	}
	return c, nil
}

// findVDSO returns where the code of the kernel lies in a process, and its length.
func findVDSO(pid int) (base, size uint64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[vdso]\n") {
			continue
		}
		var end uint64
		if _, err := fmt.Sscanf(line, "%x-%x ", &base, &end); err != nil {
			return 0, 0, fmt.Errorf("find the vDSO in %q: %w", line, err)
		}
		return base, end - base, nil
	}
	return 0, 0, errors.New("the process has no vDSO")
}

// The functions of the vDSO that tell the time of day do the system call and add the seconds that lie
// behind the code of the first.
var (
	clockGettime = []byte{
		0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
		0x75, 10, // jne to the ret
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [rip+distance]
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // ret
	}
	gettimeofday = []byte{
		0xb8, 96, 0, 0, 0, // mov eax, SYS_gettimeofday
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: may be nil
		0x74, 10, // je to the ret
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [rip+distance]
		0x48, 0x01, 0x0f, // add [rdi], rcx
		0xc3, // ret
	}
)

const (
	distanceAt  = 14 // of the distance in the code
	distanceEnd = 18 // rip counts from there
)

// patch returns what has to be written where, and notes the place of the seconds.
func (c *Clock) patch(base uint64, image []byte, off time.Duration) (map[uint64][]byte, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the symbols of the vDSO: %w", err)
	}
	places := map[string]uint64{}
	for _, s := range symbols {
		if s.Size >= uint64(len(clockGettime)+16) {
			places[s.Name] = base + s.Value
		}
	}
	clock, day := places["__vdso_clock_gettime"], places["__vdso_gettimeofday"]
	if clock == 0 || day == 0 {
		return nil, fmt.Errorf("the vDSO lacks functions: %v", places)
	}
	c.at = (clock + uint64(len(clockGettime)) + 7) &^ 7
	return map[uint64][]byte{
		clock: c.code(clockGettime, clock),
		day:   c.code(gettimeofday, day),
		c.at:  seconds(off),
	}, nil
}

// code returns the code of a function that lies at a place.
func (c *Clock) code(of []byte, at uint64) []byte {
	code := bytes.Clone(of)
	binary.LittleEndian.PutUint32(code[distanceAt:], uint32(c.at-at-distanceEnd)) // wraps if it is negative
	return code
}

// A Clock is that of a process. Its methods may be called at any time while the process lives.
type Clock struct {
	pid int
	at  uint64 // address of the seconds
}

// Set steps the clock of the process: from now on it is off by whole seconds from that of the machine.
func (c *Clock) Set(off time.Duration) error {
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("step the clock of process %d: %w", c.pid, err)
	}
	defer mem.Close()
	if _, err := mem.WriteAt(seconds(off), int64(c.at)); err != nil {
		return fmt.Errorf("step the clock of process %d: %w: %w", c.pid, ErrRefused, err)
	}
	return nil
}

// seconds returns seconds as the code adds them.
func seconds(off time.Duration) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(off/time.Second))
}
