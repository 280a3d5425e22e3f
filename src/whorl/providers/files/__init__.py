"""Files of the project as workflows read and write them: rights, tasks, what files hold."""
