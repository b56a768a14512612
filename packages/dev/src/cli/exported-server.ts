// Finds the server that the module of a program exports.

import { pathToFileURL } from 'node:url'

import { HttpServer } from 'weirjs'
import { kindOf } from 'weirjs/kit'

/** The exports that may have the server, in this order. Only the first may be a function that makes it. */
const NAMES = ['default', 'server', 'app'] as const

/**
 * The server that `file` exports. Importing the file again does not run it again, because it is the main module.
 * @param name of the export; null: `default`, `server` or `app`
 * @returns null if it exports none
 * @throws Error for a named export that has no server, and for a function that does not make one; whatever the module or the function throws
 */
export async function exportedServer(file: string, name: string | null): Promise<HttpServer | null> {
  const exports = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>
  if (name !== null) {
    if (!Object.hasOwn(exports, name)) throw new Error(`it has no export ${JSON.stringify(name)}; its exports are ${listed(exports)}`)
    return serverOf(name, exports[name])
  }
  const found = NAMES.find((one) => exports[one] instanceof HttpServer)
  if (found !== undefined) return exports[found] as HttpServer
  return typeof exports['default'] === 'function' ? serverOf('default', exports['default']) : null
}

function listed(exports: object): string {
  const names = Object.keys(exports)
  return names.length === 0 ? 'none' : names.join(', ')
}

async function serverOf(name: string, value: unknown): Promise<HttpServer> {
  const made: unknown = typeof value === 'function' ? await madeBy(name, value as () => unknown) : value
  if (made instanceof HttpServer) return made
  const what = typeof value === 'function' ? `is a function that returned ${kindOf(made)}` : `is ${kindOf(value)}`
  throw new Error(`its export ${JSON.stringify(name)} ${what}, not an HttpServer or a function that makes one`)
}

/** @throws Error for a function that has failed because it was called without arguments, as far as that can be known; otherwise what it throws */
async function madeBy(name: string, make: () => unknown): Promise<unknown> {
  try {
    return await make()
  } catch (error) {
    if (make.length === 0) throw error
    const missing = make.length === 1 ? 'an argument, and weir calls it with none' : `${make.length} arguments, and weir calls it with none`
    throw new Error(
      `its export ${JSON.stringify(name)} is a function that needs ${missing}: export the server, or a function without arguments that calls it (it threw ${String(error)})`,
      { cause: error },
    )
  }
}
