// Builds one of the applications in apps/, as its own command does.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const GUESTS = join(import.meta.dirname, '..')
/** No build sends anything to its makers. */
const QUIET = { NEXT_TELEMETRY_DISABLED: '1', ASTRO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1', CI: '1', NODE_ENV: 'production' }

const built = new Set()

/**
 * @param command the file that `bin` of the package names, and its arguments
 * @param output what the build writes; with GUEST_KEEP_BUILDS=1, an application that has it is not built again
 * @returns the folder of the application
 */
export function buildApp(name, command, output) {
  const folder = join(GUESTS, 'apps', name)
  if ((process.env.GUEST_KEEP_BUILDS || built.has(name)) && existsSync(join(folder, output))) return folder
  built.add(name)
  const [file, ...args] = command
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(GUESTS, 'node_modules', file), ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, ...QUIET },
  })
  if (status !== 0) throw new Error(`the build of ${name} failed\n${stdout}\n${stderr}`)
  return folder
}
