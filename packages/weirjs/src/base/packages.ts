// npm packages that are loaded when they are first needed: those that only some modules use and the program installs, and those that would
// delay the start of a server.

import { WeirError } from './errors.ts'

/** @throws whatever Node throws for a package that cannot be loaded; the next call tries again */
export function requirePackage<T>(name: string): T {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url)(name) as T
}

/**
 * @param install what the command of the error installs, if the caller needs more than this package
 * @throws WEIR_PACKAGE_MISSING with that command
 */
export function requireOptionalPackage<T>(name: string, install = name): T {
  try {
    return requirePackage<T>(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw new WeirError('WEIR_PACKAGE_MISSING', `npm install ${install}`, { cause: error })
  }
}

/**
 * Checks that an optional package is there which is loaded later.
 * @param install what the command of the error installs, if `name` is a file of a package
 * @throws WEIR_PACKAGE_MISSING with the command that installs it
 */
export function checkOptionalPackage(name: string, install = name): void {
  try {
    process
      .getBuiltinModule('node:module')
      .createRequire(import.meta.url)
      .resolve(name)
  } catch (error) {
    throw new WeirError('WEIR_PACKAGE_MISSING', `npm install ${install}`, { cause: error })
  }
}

/**
 * Returns what `load` imports or, if the import fails, what `require` finds. Node 20 remembers a failed import forever: without this, one
 * moment without a free descriptor (`EMFILE`) would stop this process from sending files until it restarts.
 */
export async function importPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    return requirePackage(name)
  }
}
