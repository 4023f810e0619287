package master

import (
	"context"

	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/schedule"
)

// sourceTasks returns the tasks that update what external pillars fetch from elsewhere, every
// git_pillar_update_interval, so that no minion waits for it (salt/master.py,
// Maintenance.handle_git_pillar).
func sourceTasks(sources []pillar.Source, b base) []schedule.Task {
	var tasks []schedule.Task
	for _, s := range sources {
		if u, ok := s.(pillar.Updater); ok {
			tasks = append(tasks, schedule.Task{
				Name: "__ext_pillar_" + s.Name(),
				Every: updateInterval(
					b.settings.saltOptions().Value("git_pillar_update_interval")),
				RunOnStart: true,
				Do: func(ctx context.Context) error {
					return u.Update(ctx, b.settings.saltOptions(), b.log)
				},
			})
		}
	}
	return tasks
}
