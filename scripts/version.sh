#!/bin/sh
# Prints the version of what is built, or how deb and rpm packages write a version, so that theirs sort as versions do.
#
#   version.sh            v1.2.3-14-gabcdef, from git, or from the file VERSION of an archive of the sources
#   version.sh VERSION    1.2.3            v1.2.3
#                         1.2.4~rc1        v1.2.4-rc1
#                         1.2.3+14.gabcdef v1.2.3-14-gabcdef
#                         0~25.gabcdef     abcdef, where no version has a tag: 25 commits
set -eu
if [ $# -eq 0 ]; then
  git describe --tags --always --dirty --match 'v[0-9]*' 2> /dev/null || cat VERSION 2> /dev/null || echo unknown
  exit
fi
version=${1#v}
suffix=
case $version in
  *-dirty) suffix=.dirty version=${version%-dirty} ;;
esac
case $version in
  *-[0-9]*-g[0-9a-f]*)
    commit=${version##*-g}
    version=${version%-g*}
    suffix=+${version##*-}.g$commit$suffix
    version=${version%-*}
    ;;
  [0-9]*.*) suffix=${suffix:++${suffix#.}} ;;
  *)
    commits=$(git rev-list --count "$version" 2> /dev/null || echo 0)
    version=0~$commits.g$version
    ;;
esac
printf '%s%s\n' "$(echo "$version" | tr - '~')" "$suffix"
