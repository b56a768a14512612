// Names of limits. Clients see them, in structured fields and in problem documents.

import { text } from '../../base/option-kinds.ts'

export const NAME = text('1 to 64 letters, digits, "-", "_" and "."', (name) => /^[\w.-]{1,64}$/.test(name))
