export const load = ({ cookies }) => ({ name: cookies.get('name') ?? null })

export const actions = {
  default: async ({ cookies, request }) => {
    const form = await request.formData()
    cookies.set('name', String(form.get('name')), { path: '/', secure: false })
    return { sent: true }
  },
}
