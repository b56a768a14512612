export const load = () => ({ late: new Promise((resolve) => setTimeout(resolve, 500, 'It came late')) })
