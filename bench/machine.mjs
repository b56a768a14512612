// The source of the numbers: machine, runtime, commit, versions, and how processes are pinned to cores.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'

const here = new URL('.', import.meta.url)

export function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, here), 'utf8')).version
}

/** The output of a command; null if it cannot be run. */
function said(command, ...args) {
  try {
    return execFileSync(command, args, { cwd: here, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  } catch (error) {
    return error.stdout ? String(error.stdout).trim() : null
  }
}

/** wrk prints its version and exits with 1. */
const wrkVersion = () => said('wrk', '-v')?.match(/^wrk (\S+)/)?.[1] ?? null

export function describeMachine() {
  const changed = said('git', 'status', '--porcelain', '--untracked-files=no', '--', '../packages/weirjs/src', '.')
  return {
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    v8: process.versions.v8,
    platform: `${process.platform} ${process.arch}`,
    commit: `${said('git', 'rev-parse', '--short', 'HEAD') ?? 'none'}${changed ? ' with local changes' : ''}`,
    wrk: wrkVersion(),
    pinning: cpus().length > 1 && said('taskset', '-cp', String(process.pid)) !== null,
  }
}

export const SERVER_CORE = 0
export const LOAD_CORE = 1

/** The command that runs `command` on a single core, or unchanged if there is no `taskset` or only one core. */
export function onCore(pinning, core, command, args) {
  return pinning ? { command: 'taskset', args: ['-c', String(core), command, ...args] } : { command, args }
}

/** This process does nothing during a round, but what little it does must not run on the server's core. */
export function leaveServerCore(pinning) {
  if (pinning) said('taskset', '-cp', String(LOAD_CORE), String(process.pid))
}

/** The column of /proc/stat. */
const STEAL = 8
const TICKS_A_SECOND = 100

/**
 * For how many seconds, since the machine started, a core had work while the host of this virtual machine had given it to another one. 0 if
 * the system does not report it.
 */
function stolenSeconds() {
  try {
    const [all] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
    return Number(all.split(/\s+/)[STEAL]) / TICKS_A_SECOND
  } catch {
    return 0
  }
}

/**
 * A round in which the host took more than this share of the two cores is measured again. Each time the contents of the processor's caches
 * are lost, which does not affect all servers alike. At most as many rounds are repeated as were requested.
 */
export const MOST_STOLEN = 0.02
const USED_CORES = 2

/** Watches a round from its beginning. @returns {() => boolean} to be called at its end; true if the round has to be measured again */
export function watchHost() {
  const stolenBefore = stolenSeconds()
  const began = performance.now()
  return () => (stolenSeconds() - stolenBefore) / ((performance.now() - began) / 1000) / USED_CORES > MOST_STOLEN
}

/** For how many seconds cores have been working since the machine started. */
export function workedSeconds() {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000
}
