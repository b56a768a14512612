// What reads multipart forms and keeps their files: loaded by late-forms.ts.

export { MemoryForm } from '../multipart/memory-form.ts'
export { passForm } from '../multipart/multipart-stream.ts'
export { readDeclared } from './declared-parts.ts'
export { saveUpload } from './save-upload.ts'
