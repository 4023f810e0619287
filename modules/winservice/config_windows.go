package winservice

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc/mgr"
)

// settingsOf reads the settings of a service. Those that the system does not know, such as the
// delayed start in Wine, have their zero value.
func settingsOf(s *mgr.Service) (mgr.Config, error) {
	buf := make([]byte, 8<<10) // the most that the system returns
	var needed uint32
	p := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buf[0]))
	if err := windows.QueryServiceConfig(s.Handle, p, uint32(len(buf)), &needed); err != nil {
		return mgr.Config{}, err
	}
	c := mgr.Config{ServiceType: p.ServiceType, StartType: p.StartType, ErrorControl: p.ErrorControl,
		BinaryPathName: windows.UTF16PtrToString(p.BinaryPathName),
		LoadOrderGroup: windows.UTF16PtrToString(p.LoadOrderGroup), TagId: p.TagId,
		Dependencies:     textsAt(p.Dependencies),
		ServiceStartName: windows.UTF16PtrToString(p.ServiceStartName),
		DisplayName:      windows.UTF16PtrToString(p.DisplayName)}
	more := make([]byte, 8<<10)
	if windows.QueryServiceConfig2(s.Handle, windows.SERVICE_CONFIG_DESCRIPTION, &more[0],
		uint32(len(more)), &needed) == nil {
		d := (*windows.SERVICE_DESCRIPTION)(unsafe.Pointer(&more[0]))
		c.Description = windows.UTF16PtrToString(d.Description)
	}
	if windows.QueryServiceConfig2(s.Handle, windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO, &more[0],
		uint32(len(more)), &needed) == nil {
		d := (*windows.SERVICE_DELAYED_AUTO_START_INFO)(unsafe.Pointer(&more[0]))
		c.DelayedAutoStart = d.IsDelayedAutoStartUp != 0
	}
	return c, nil
}

// textsAt returns texts that follow one another until an empty one.
func textsAt(p *uint16) []string {
	texts := []string{}
	for p != nil {
		text := windows.UTF16PtrToString(p)
		if text == "" {
			break
		}
		texts = append(texts, text)
		size := (len(windows.StringToUTF16(text))) * 2
		p = (*uint16)(unsafe.Add(unsafe.Pointer(p), size))
	}
	return texts
}

// renew changes the settings of a service that differ. The others, such as a password, stay.
func renew(s *mgr.Service, was, now mgr.Config) error {
	number := func(was, now uint32) uint32 {
		if was == now {
			return windows.SERVICE_NO_CHANGE
		}
		return now
	}
	var wrong error
	text := func(was, now string) *uint16 {
		if was == now {
			return nil
		}
		p, err := windows.UTF16PtrFromString(now)
		if err != nil {
			wrong = err
		}
		return p
	}
	var dependencies *uint16
	if !slices.Equal(was.Dependencies, now.Dependencies) {
		var block []uint16
		for _, name := range now.Dependencies {
			wide, err := windows.UTF16FromString(name)
			if err != nil {
				return err
			}
			block = append(block, wide...)
		}
		dependencies = &append(block, 0, 0)[0]
	}
	path, group := text(was.BinaryPathName, now.BinaryPathName), text(was.LoadOrderGroup, now.LoadOrderGroup)
	account, password := text(was.ServiceStartName, now.ServiceStartName), text("", now.Password)
	display, description := text(was.DisplayName, now.DisplayName), text(was.Description, now.Description)
	if wrong != nil {
		return wrong
	}
	err := windows.ChangeServiceConfig(s.Handle, number(was.ServiceType, now.ServiceType),
		number(was.StartType, now.StartType), number(was.ErrorControl, now.ErrorControl), path, group, nil,
		dependencies, account, password, display)
	if err == nil && description != nil {
		d := windows.SERVICE_DESCRIPTION{Description: description}
		err = windows.ChangeServiceConfig2(s.Handle, windows.SERVICE_CONFIG_DESCRIPTION,
			(*byte)(unsafe.Pointer(&d)))
	}
	if err == nil && was.DelayedAutoStart != now.DelayedAutoStart {
		d := windows.SERVICE_DELAYED_AUTO_START_INFO{}
		if now.DelayedAutoStart {
			d.IsDelayedAutoStartUp = 1
		}
		err = windows.ChangeServiceConfig2(s.Handle, windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO,
			(*byte)(unsafe.Pointer(&d)))
	}
	return err
}
