import assert from 'node:assert/strict'
import { test } from 'node:test'

import { instanceFolder } from './instance-folder.ts'

const FOLDERS: readonly (readonly [NodeJS.Platform, Record<string, string>, string, string])[] = [
  ['linux', { XDG_RUNTIME_DIR: '/run/user/7', XDG_STATE_HOME: '/state' }, '/home/me', '/run/user/7/weir'],
  ['linux', { XDG_STATE_HOME: '/state' }, '/home/me', '/state/weir'],
  ['linux', {}, '/home/me', '/home/me/.local/state/weir'],
  ['linux', { XDG_RUNTIME_DIR: '', XDG_STATE_HOME: '' }, '/home/me', '/home/me/.local/state/weir'],
  ['linux', { XDG_RUNTIME_DIR: 'run', XDG_STATE_HOME: './state' }, '/home/me', '/home/me/.local/state/weir'],
  ['freebsd', { XDG_RUNTIME_DIR: '/var/run/user/7' }, '/home/me', '/var/run/user/7/weir'],
  ['darwin', { XDG_RUNTIME_DIR: '/run/user/7' }, '/Users/me', '/Users/me/Library/Application Support/weir'],
  ['win32', { LOCALAPPDATA: 'D:\\Data\\Local' }, 'C:\\Users\\me', 'D:\\Data\\Local\\weir'],
  ['win32', {}, 'C:\\Users\\me', 'C:\\Users\\me\\AppData\\Local\\weir'],
  ['win32', { LOCALAPPDATA: 'Local' }, 'C:\\Users\\me', 'C:\\Users\\me\\AppData\\Local\\weir'],
]

for (const [platform, env, home, folder] of FOLDERS)
  test(`instances on ${platform} with ${JSON.stringify(env)} are in ${folder}`, () => {
    assert.equal(instanceFolder({ platform, env, home }), folder)
  })
