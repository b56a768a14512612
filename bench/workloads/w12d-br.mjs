import { compressedAs } from './w12c-json.mjs'

export default compressedAs('br')
