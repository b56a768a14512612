// Whether the client's name of an uploaded file has one of the allowed extensions.

import { extname } from 'node:path'
import { FileRefusedError } from '../../base/errors.ts'

/** @param part name of the part of the form; absent where there is only one file @throws FileRefusedError */
export function checkExtension(name: string, extensions: readonly string[], part?: string): void {
  const extension = extname(name).toLowerCase()
  if (extensions.includes(extension)) return
  const prefix = part === undefined ? '' : `${part}: `
  throw new FileRefusedError('WEIR_FILE_EXTENSION', `${prefix}"${extension}"`, extensions)
}
