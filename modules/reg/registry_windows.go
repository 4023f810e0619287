package reg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/brineproject/brine/data"
)

var hives = map[string]registry.Key{
	"HKCC": registry.CURRENT_CONFIG, "HKCR": registry.CLASSES_ROOT, "HKCU": registry.CURRENT_USER,
	"HKLM": registry.LOCAL_MACHINE, "HKU": registry.USERS,
}

var kinds = map[string]uint32{
	"REG_NONE": registry.NONE, "REG_BINARY": registry.BINARY, "REG_DWORD": registry.DWORD,
	"REG_EXPAND_SZ": registry.EXPAND_SZ, "REG_MULTI_SZ": registry.MULTI_SZ, "REG_SZ": registry.SZ,
	"REG_QWORD": registry.QWORD,
}

// access adds the part of the registry to rights.
func (p place) access(rights uint32) uint32 {
	if p.wide {
		return rights | registry.WOW64_64KEY
	}
	return rights | registry.WOW64_32KEY
}

func (p place) open(rights uint32) (registry.Key, error) {
	k, err := registry.OpenKey(hives[p.hive], p.key, p.access(rights))
	return k, known(err)
}

// known returns the error of the registry as one of this package.
func known(err error) error {
	switch {
	case errors.Is(err, windows.ERROR_FILE_NOT_FOUND), errors.Is(err, windows.ERROR_PATH_NOT_FOUND):
		return errMissing
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return errDenied
	}
	return err
}

func (p place) subkeys() ([]string, error) {
	k, err := p.open(registry.READ)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	names, err := k.ReadSubKeyNames(-1)
	return names, known(err)
}

func (p place) values() ([]value, error) {
	k, err := p.open(registry.READ)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	names, err := k.ReadValueNames(-1)
	if err != nil {
		return nil, known(err)
	}
	var all []value
	for _, name := range names {
		v, err := valueOf(k, name)
		if errors.Is(err, errMissing) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (p place) read(name string) (value, error) {
	k, err := p.open(registry.READ)
	if err != nil {
		return value{}, err
	}
	defer k.Close()
	return valueOf(k, name)
}

// mostData limits the data of a value that is read, in bytes.
const mostData = 64 << 20

func valueOf(k registry.Key, name string) (value, error) {
	n, kind, err := k.GetValue(name, nil)
	if err != nil {
		return value{}, known(err)
	}
	if n > mostData {
		return value{}, fmt.Errorf("value %q has %d bytes", name, n)
	}
	v := value{name: name}
	for word, number := range kinds {
		if number == kind {
			v.kind = word
		}
	}
	switch kind {
	case registry.SZ, registry.EXPAND_SZ:
		v.data, _, err = k.GetStringValue(name)
	case registry.MULTI_SZ:
		var list []string
		list, _, err = k.GetStringsValue(name)
		v.data = data.Values(list)
	case registry.DWORD, registry.QWORD:
		var number uint64
		number, _, err = k.GetIntegerValue(name)
		v.data = int64(number)
	default:
		if v.kind == "" {
			v.kind = fmt.Sprintf("REG_TYPE_%d", kind)
		}
		buf := make([]byte, n)
		if n, _, err = k.GetValue(name, buf); n > 0 {
			v.data = buf[:n]
		}
	}
	return v, known(err)
}

func (p place) write(v value, volatile bool) error {
	k, err := p.create(volatile)
	if err != nil {
		return err
	}
	defer k.Close()
	switch content := v.data.(type) {
	case string:
		if v.kind == "REG_EXPAND_SZ" {
			return k.SetExpandStringValue(v.name, content)
		}
		return k.SetStringValue(v.name, content)
	case []any:
		return k.SetStringsValue(v.name, data.Texts(content))
	case []byte:
		return k.SetBinaryValue(v.name, content)
	case int64:
		switch v.kind {
		case "REG_DWORD":
			return k.SetDWordValue(v.name, uint32(content))
		case "REG_QWORD":
			return k.SetQWordValue(v.name, uint64(content))
		}
		return setRaw(k, v.name, registry.NONE, binary.LittleEndian.AppendUint64(nil, uint64(content)))
	}
	return fmt.Errorf("data of the type %T", v.data)
}

// create opens a key to write, and makes it and those above it if they do not exist.
func (p place) create(volatile bool) (registry.Key, error) {
	path, err := windows.UTF16PtrFromString(p.key)
	if err != nil {
		return 0, err
	}
	options := uintptr(0)
	if volatile {
		options = 1
	}
	var handle windows.Handle
	call := windows.NewLazySystemDLL("advapi32.dll").NewProc("RegCreateKeyExW")
	code, _, _ := call.Call(uintptr(hives[p.hive]), uintptr(unsafe.Pointer(path)), 0, 0, options,
		uintptr(p.access(registry.ALL_ACCESS)), 0, uintptr(unsafe.Pointer(&handle)), 0)
	if code != 0 {
		return 0, known(windows.Errno(code))
	}
	return registry.Key(handle), nil
}

func setRaw(k registry.Key, name string, kind uint32, content []byte) error {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	call := windows.NewLazySystemDLL("advapi32.dll").NewProc("RegSetValueExW")
	code, _, _ := call.Call(uintptr(k), uintptr(unsafe.Pointer(wide)), 0, uintptr(kind),
		uintptr(unsafe.Pointer(unsafe.SliceData(content))), uintptr(len(content)))
	if code != 0 {
		return windows.Errno(code)
	}
	return nil
}

// remove removes a key without keys below it.
func (p place) remove() error {
	path, err := windows.UTF16PtrFromString(p.key)
	if err != nil {
		return err
	}
	call := windows.NewLazySystemDLL("advapi32.dll").NewProc("RegDeleteKeyExW")
	code, _, _ := call.Call(uintptr(hives[p.hive]), uintptr(unsafe.Pointer(path)),
		uintptr(p.access(0)), 0)
	if code != 0 {
		return known(windows.Errno(code))
	}
	return nil
}

// drop removes a value.
func (p place) drop(name string) error {
	k, err := p.open(registry.ALL_ACCESS)
	if err != nil {
		return err
	}
	defer k.Close()
	return known(k.DeleteValue(name))
}

// broadcast tells all windows that settings of an area have changed, and reports whether they took
// it. It waits for each of them for five seconds at most.
func broadcast(area string) bool {
	text, err := windows.UTF16PtrFromString(area)
	if err != nil {
		return false
	}
	call := windows.NewLazySystemDLL("user32.dll").NewProc("SendMessageTimeoutW")
	if call.Find() != nil {
		return false
	}
	const all, settingChange, abortIfHung, wait = 0xffff, 0x1a, 0x2, 5000
	done, _, _ := call.Call(all, settingChange, 0, uintptr(unsafe.Pointer(text)), abortIfHung, wait, 0)
	return done != 0
}
