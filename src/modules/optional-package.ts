// Packages that only some modules need, and that a host program installs when it uses one of these.

import { createRequire } from 'node:module'

import { WeirError } from '../base/errors.ts'

const require = createRequire(import.meta.url)

/** @throws WEIR_PACKAGE_MISSING, which says how to install it */
export function loadPackage<T>(name: string): T {
  try {
    return require(name) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
    throw new WeirError('WEIR_PACKAGE_MISSING', `npm install ${name}`, error)
  }
}
