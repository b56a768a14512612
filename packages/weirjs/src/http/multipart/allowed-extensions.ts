// The extensions of uploaded files that an option allows.

import { invalid, listOf } from '../../base/options.ts'

/** Extensions as `extname` returns them, in lower case. @throws WEIR_OPTION_INVALID for one that no file name can have */
export function extensionsOf(owner: string, given: readonly string[]): readonly string[] {
  return listOf<unknown>(owner, 'extensions', given).map((one) => {
    if (typeof one !== 'string' || !/^(?:\.?[^./\\]+)?$/.test(one))
      throw invalid(owner, `extensions: ${JSON.stringify(one)} is not an extension, such as .png`)
    return `${one === '' || one.startsWith('.') ? '' : '.'}${one.toLowerCase()}`
  })
}
