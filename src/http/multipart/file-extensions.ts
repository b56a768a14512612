// The extensions of uploaded files: which ones an option allows, and whether the client's file name has one of them.

import { extname } from 'node:path'
import { FileRefusedError } from '../../base/errors.ts'
import { invalid, listOf } from '../../base/options.ts'

/** Extensions as `extname` returns them, in lower case. @throws WEIR_OPTION_INVALID for one that no file name can have */
export function extensionsOf(owner: string, given: readonly string[]): readonly string[] {
  return listOf<unknown>(owner, 'extensions', given).map((one) => {
    if (typeof one !== 'string' || !/^(?:\.?[^./\\]+)?$/.test(one))
      throw invalid(owner, `extensions: ${JSON.stringify(one)} is not an extension, such as .png`)
    return `${one === '' || one.startsWith('.') ? '' : '.'}${one.toLowerCase()}`
  })
}

/** @param part name of the part of the form; absent where there is only one file @throws FileRefusedError */
export function checkExtension(name: string, extensions: readonly string[], part?: string): void {
  const extension = extname(name).toLowerCase()
  if (extensions.includes(extension)) return
  const prefix = part === undefined ? '' : `${part}: `
  throw new FileRefusedError('WEIR_FILE_EXTENSION', `${prefix}"${extension}"`, extensions)
}
